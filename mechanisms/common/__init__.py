"""What all mechanisms share: labelled rows and regularisers."""
