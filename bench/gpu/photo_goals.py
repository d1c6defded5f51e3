"""The goals of models.py and jpeg.py for photographs."""

import goals


def of(key, plain, ours, first):
    """The goals. Records have the name of a measurement at key, and plain is the name of the one
    without a model. ours are the loaders that count. Of the ones in first, the slowest first batch
    counts.
    """

    def best(figure, loaders, what, cores):
        return lambda records: records.best(figure, loaders, **{key: what}, cores=cores)

    def times(other):
        figures = [best("rows_per_second", loaders, plain, 8) for loaders in (ours, (other,))]
        return lambda records: goals.ratio(*(figure(records) for figure in figures))

    def of_ceiling(model, cores):
        return best("of_ceiling", ours, model, cores)

    return (
        goals.Goal("photographs to the device, 8 cores, of torch's DataLoader with 8 workers", 4, 6, times("torch, 8 workers")),
        goals.Goal("the same, of nvJPEG alone on the same bytes", 0.8, 0.9, times("nvJPEG alone, without crops")),
        goals.Goal("ResNet-50, bf16, batch 512, 8 cores, of its ceiling", 0.98, 0.99, of_ceiling("resnet50", 8)),
        goals.Goal("ResNet-50, 4 cores, of its ceiling", 0.95, 0.99, of_ceiling("resnet50", 4)),
        goals.Goal("ResNet-18, 16 cores, of its ceiling", 0.9, 0.97, of_ceiling("resnet18", 16)),
        goals.Goal(
            "first batch of 512",
            0.6,
            0.4,
            lambda records: records.best("first_seconds", first, **{key: "first"}),
            unit="s",
            most=True,
        ),
    )
