"""No loader: batches of nothing, for the training step on its own."""


def batches(task):
    while True:
        yield {}
