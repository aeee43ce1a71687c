"""What the words and the error codes mean, for `dpcheck explain`, reports and pages."""
