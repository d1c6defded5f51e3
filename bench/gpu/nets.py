"""Networks in plain torch: ResNet-18 and ResNet-50, GPT, DLRM."""

import torch
import torch.nn.functional as F
from torch import nn


def convolution(channels, out, side, stride=1):
    return nn.Sequential(nn.Conv2d(channels, out, side, stride, side // 2, bias=False), nn.BatchNorm2d(out))


class Residual(nn.Module):
    """A block of a ResNet, "basic" of two convolutions or "bottleneck" of three."""

    def __init__(self, kind, channels, width, out, stride):
        super().__init__()
        if kind == "basic":
            layers = [convolution(channels, width, 3, stride), nn.ReLU(inplace=True), convolution(width, out, 3)]
        else:
            layers = [convolution(channels, width, 1), nn.ReLU(inplace=True), convolution(width, width, 3, stride)]
            layers += [nn.ReLU(inplace=True), convolution(width, out, 1)]
        self.layers = nn.Sequential(*layers)
        self.short = nn.Identity() if stride == 1 and channels == out else convolution(channels, out, 1, stride)

    def forward(self, x):
        return F.relu(self.layers(x) + self.short(x), inplace=True)


RESNETS = {"resnet18": ("basic", 1, (2, 2, 2, 2)), "resnet50": ("bottleneck", 4, (3, 4, 6, 3))}


def resnet(name, width=64, classes=1000):
    """Returns the layers of torchvision's model of this name; its width is 64."""
    kind, times, depths = RESNETS[name]
    layers = [convolution(3, width, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    channels = width
    for stage, depth in enumerate(depths):
        for n in range(depth):
            out = (width << stage) * times
            layers.append(Residual(kind, channels, width << stage, out, 2 if stage and not n else 1))
            channels = out
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))


class Attention(nn.Module):
    """A block of GPT."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width))

    def forward(self, x):
        rows, tokens, width = x.shape
        q, k, v = self.qkv(self.before(x)).view(rows, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(rows, tokens, width))
        return x + self.mlp(self.between(x))


class GPT(nn.Module):
    """GPT-2, of 124 million parameters with 12 layers of 768; the last layer is the embedding."""

    def __init__(self, layers, width, vocabulary, tokens):
        super().__init__()
        self.words, self.places = nn.Embedding(vocabulary, width), nn.Embedding(tokens, width)
        self.blocks = nn.Sequential(*(Attention(width, width // 64) for _ in range(layers)))
        self.last = nn.LayerNorm(width)
        for weights in self.parameters():
            if weights.dim() > 1:
                nn.init.normal_(weights, std=0.02)

    def forward(self, ids):
        x = self.words(ids) + self.places.weight[: ids.shape[1]]
        return F.linear(self.last(self.blocks(x)), self.words.weight)


class DLRM(nn.Module):
    """Embeddings of categories, a network of numbers, products of all pairs, and a network on top.

    The embeddings of all columns are one table without gradients: update changes its used rows, as
    fused kernels do.
    """

    def __init__(self, numbers, columns, buckets, width=16):
        super().__init__()
        self.register_buffer("table", torch.empty(columns * buckets, width).normal_(std=0.01))
        self.register_buffer("starts", torch.arange(columns) * buckets)
        first, second = torch.triu_indices(columns + 1, columns + 1, 1)
        self.register_buffer("pairs", first * (columns + 1) + second)
        self.bottom = mlp(numbers, 512, 256, width)
        self.top = nn.Sequential(mlp(len(self.pairs) + width, 512, 256), nn.Linear(256, 1))

    def look_up(self, ids):
        """Returns the table's rows for a matrix of ids, and their embeddings with a gradient."""
        rows = (ids.long() + self.starts).flatten()
        return rows, self.table[rows].view(*ids.shape, -1).requires_grad_()

    def forward(self, numbers, embeddings):
        dense = self.bottom(numbers)
        each = torch.cat([dense[:, None], embeddings.to(dense.dtype)], 1)
        products = torch.bmm(each, each.transpose(1, 2)).flatten(1).index_select(1, self.pairs)
        return self.top(torch.cat([dense, products], 1)).squeeze(1)

    @torch.no_grad()
    def update(self, rows, gradient, rate):
        self.table.index_add_(0, rows, gradient.flatten(0, 1), alpha=-rate)


def mlp(*widths):
    return nn.Sequential(*(layer for k, out in enumerate(widths[1:]) for layer in (nn.Linear(widths[k], out), nn.ReLU())))
