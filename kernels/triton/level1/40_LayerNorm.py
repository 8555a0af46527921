"""Layer normalisation over long trailing shapes, in three launches.

y[n, m] = weight[m] * (x[n, m] - mean[n]) / sqrt(var[n] + eps) + bias[m], m running over the
normalised elements.

A sample (4,194,304 elements as shipped) is split over many programs. Each finds mean and M2 (sum
of squared deviations) of its chunk in registers, one program a sample merges them with the
formula of Chan, Golub and LeVeque (1983), a third launch normalises. No atomics: it repeats bit
for bit, and no large squares are subtracted.

Bound by memory. Floor: (2 * numel + 2 * normalised) * itemsize bytes (16 x 64 x 256 x 256: 570 MB
at fp32, 285 MB at bf16). Statistics come before outputs and x does not fit on the chip: any
kernel moves numel * itemsize more.
"""

import math

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def chunk_moments_kernel(x_ptr, mean_ptr, m2_ptr, length, chunks, BLOCK: tl.constexpr):
    sample = tl.program_id(0) // chunks
    chunk = tl.program_id(0) % chunks
    index = chunk.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < length
    x = tl.load(x_ptr + sample.to(tl.int64) * length + index, mask=inside, other=0.0)
    x = x.to(tl.float32)
    count = tl.minimum(length - chunk.to(tl.int64) * BLOCK, BLOCK).to(tl.float32)
    mean = tl.sum(x, axis=0) / count
    deviation = tl.where(inside, x - mean, 0.0)
    tl.store(mean_ptr + tl.program_id(0), mean)
    tl.store(m2_ptr + tl.program_id(0), tl.sum(deviation * deviation, axis=0))


@triton.jit
def merge_moments_kernel(
    mean_ptr, m2_ptr, stats_ptr, length, chunks, eps, CHUNK: tl.constexpr, BLOCK: tl.constexpr
):
    sample = tl.program_id(0)
    mean_ptr += sample * chunks
    m2_ptr += sample * chunks
    lanes = tl.arange(0, BLOCK)
    weighted = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, chunks, BLOCK):
        chunk = start + lanes
        count = tl.minimum(length - chunk.to(tl.int64) * CHUNK, CHUNK).to(tl.float32)
        weighted += count * tl.load(mean_ptr + chunk, mask=chunk < chunks, other=0.0)
    mean = tl.sum(weighted, axis=0) / length
    m2 = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, chunks, BLOCK):
        chunk = start + lanes
        inside = chunk < chunks
        count = tl.minimum(length - chunk.to(tl.int64) * CHUNK, CHUNK).to(tl.float32)
        shift = tl.load(mean_ptr + chunk, mask=inside, other=0.0) - mean
        within = tl.load(m2_ptr + chunk, mask=inside, other=0.0)
        m2 += tl.where(inside, within + count * shift * shift, 0.0)
    variance = tl.sum(m2, axis=0) / length
    tl.store(stats_ptr + 2 * sample, mean)
    tl.store(stats_ptr + 2 * sample + 1, 1.0 / tl.sqrt(variance + eps))


@triton.jit
def normalise_kernel(
    x_ptr, weight_ptr, bias_ptr, stats_ptr, y_ptr, length, samples, BLOCK: tl.constexpr
):
    # Neighbouring programs take the same chunk of all samples: its weights come from the L2.
    sample = tl.program_id(0) % samples
    index = (tl.program_id(0) // samples).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < length
    offsets = sample.to(tl.int64) * length + index
    mean = tl.load(stats_ptr + 2 * sample)
    scale = tl.load(stats_ptr + 2 * sample + 1)
    x = tl.load(x_ptr + offsets, mask=inside).to(tl.float32)
    weight = tl.load(weight_ptr + index, mask=inside).to(tl.float32)
    bias = tl.load(bias_ptr + index, mask=inside).to(tl.float32)
    tl.store(y_ptr + offsets, (x - mean) * scale * weight + bias, mask=inside)


class ModelNew(nn.Module):
    """LayerNorm over `normalized_shape`; `self.ln` only holds weight, bias and eps."""

    def __init__(self, normalized_shape: tuple[int, ...]) -> None:
        super().__init__()
        self.ln = nn.LayerNorm(normalized_shape=normalized_shape)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: (..., *normalized_shape), any float dtype -> the same shape and dtype."""
        x = x.contiguous()
        length = math.prod(self.ln.normalized_shape)
        samples = x.numel() // length
        block = min(8192, triton.next_power_of_2(length))
        chunks = triton.cdiv(length, block)
        mean = torch.empty(samples * chunks, dtype=torch.float32, device=x.device)
        m2 = torch.empty_like(mean)
        stats = torch.empty(2 * samples, dtype=torch.float32, device=x.device)
        y = torch.empty_like(x)
        grid = (samples * chunks,)
        chunk_moments_kernel[grid](x, mean, m2, length, chunks, BLOCK=block, num_warps=8)
        merge_moments_kernel[(samples,)](
            mean, m2, stats, length, chunks, self.ln.eps, CHUNK=block, BLOCK=1024, num_warps=4
        )
        normalise_kernel[grid](
            x,
            self.ln.weight.contiguous(),
            self.ln.bias.contiguous(),
            stats,
            y,
            length,
            samples,
            BLOCK=block,
            num_warps=8,
        )
        return y
