"""What shardfeed.spark is made of."""
