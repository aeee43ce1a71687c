"""Libraries that train: estimators, stochastic gradient descent, federated learning."""
