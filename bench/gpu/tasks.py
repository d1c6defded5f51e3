"""Tasks: a model, its training step, and both loaders of its batches.

A task has name, prefetch (of torch's workers), batch (rows), kept() (a batch
on the device), model() (a step: a function of a batch), ours() and rival(workers).
"""

import dataclasses
import pathlib

import nets
import rivals
import sets
import torch
import torch.nn.functional as F
from sets import CATEGORIES, NUMBERS, VOCABULARY
from shardfeed import Image
from shardfeed.torch import DataLoader


@dataclasses.dataclass
class Task:
    name: str
    size: str  # of its sets, and of the model: large or small
    data: pathlib.Path  # the directory of all sets
    device: torch.device

    def __post_init__(self):
        self.small = self.size == "small"
        self.directory = sets.directory(self.data, sets.of(self.name), self.size)
        self.given = {"batch_size": self.batch, "device": str(self.device), "seed": 1, "cache": False, "drop_last": True}

    @property
    def batch(self):
        return self.batches[self.small]

    def optimizer(self, kind, model, **given):
        return kind(model.parameters(), fused=self.device.type == "cuda", **given)

    def mixed(self):
        """Products in bfloat16."""
        return torch.autocast(self.device.type, torch.bfloat16)

    def rival(self, workers):
        return rivals.batches(self.rows(), workers, self.prefetch, self.device)


class Photos(Task):
    """ResNet on photographs, cropped to 224 x 224; pixels are normalised on the device."""

    batches, prefetch = (512, 4), 2

    @property
    def side(self):
        return 32 if self.small else 224

    def kept(self):
        pixels = torch.randint(0, 256, (self.batch, 3, self.side, self.side), dtype=torch.uint8, device=self.device)
        return {"jpeg": pixels, "label": torch.arange(self.batch, device=self.device)}

    def model(self):
        torch.backends.cudnn.benchmark = True
        model = nets.resnet(self.name, width=4 if self.small else 64)
        model = model.to(self.device, memory_format=torch.channels_last)
        optimizer = self.optimizer(torch.optim.SGD, model, lr=0.1, momentum=0.9, weight_decay=1e-4)
        mean, deviation = (torch.tensor(v, device=self.device)[:, None, None] for v in ([123.675, 116.28, 103.53], [58.395, 57.12, 57.375]))

        def step(batch):
            pixels = batch["jpeg"].to(memory_format=torch.channels_last).float().sub_(mean).div_(deviation)
            with self.mixed():
                loss = F.cross_entropy(model(pixels), batch["label"])
            learn(optimizer, loss)

        return step

    def ours(self):
        image = Image.imagenet_train(size=self.side, dtype="uint8", mean=None, std=None)
        return DataLoader(str(self.directory), columns=["jpeg", "label"], images={"jpeg": image}, **self.given)

    def rows(self):
        return rivals.Photos(self.directory, self.batch, self.side)


class Tokens(Task):
    """GPT-2 on packed documents."""

    batches, prefetch = (32, 4), 4

    @property
    def tokens(self):
        return 32 if self.small else 1024

    def kept(self):
        return {"token_ids": torch.randint(0, VOCABULARY, (self.batch, self.tokens), dtype=torch.int32, device=self.device)}

    def model(self):
        layers, width = (1, 64) if self.small else (12, 768)
        model = nets.GPT(layers, width, vocabulary=50_304, tokens=self.tokens).to(self.device)  # a multiple of 64
        optimizer = self.optimizer(torch.optim.AdamW, model, lr=3e-4)

        def step(batch):
            ids = batch["token_ids"].long()
            with self.mixed():
                loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
            learn(optimizer, loss)

        return step

    def ours(self):
        return DataLoader(str(self.directory), columns=["token_ids"], pack={"token_ids": self.tokens}, **self.given)

    def rows(self):
        return rivals.Tokens(self.directory, self.batch, self.tokens)


class Features(Task):
    """DLRM on 13 numbers and 26 hashed categories."""

    batches, prefetch = (65_536, 128), 8

    @property
    def buckets(self):
        return 1_000 if self.small else 1_000_000

    def kept(self):
        ids = torch.randint(0, self.buckets, (self.batch, len(CATEGORIES)), dtype=torch.int32, device=self.device)
        numbers = torch.randn(self.batch, len(NUMBERS), device=self.device)
        return {"numbers": numbers, "ids": ids, "label": torch.ones(self.batch, device=self.device)}

    def model(self):
        model = nets.DLRM(len(NUMBERS), len(CATEGORIES), self.buckets).to(self.device)
        optimizer = self.optimizer(torch.optim.SGD, model, lr=0.1)

        def step(batch):
            rows, embeddings = model.look_up(batch["ids"])
            with self.mixed():
                logits = model(batch["numbers"], embeddings)
            learn(optimizer, F.binary_cross_entropy_with_logits(logits.float(), batch["label"]))
            model.update(rows, embeddings.grad, rate=0.1)

        return step

    def ours(self):
        stack = {"numbers": NUMBERS, "ids": {"columns": CATEGORIES, "dtype": "int32"}}
        hashed = dict.fromkeys(CATEGORIES, self.buckets)
        return DataLoader(str(self.directory), columns=["label"], stack=stack, hash=hashed, **self.given)

    def rows(self):
        return rivals.Features(self.directory, self.batch, self.buckets)


def learn(optimizer, loss):
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()


TASKS = {"resnet50": Photos, "resnet18": Photos, "gpt": Tokens, "dlrm": Features}
