"""What shardfeed.jax is made of."""
