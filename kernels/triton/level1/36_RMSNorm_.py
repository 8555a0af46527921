"""RMS normalisation over the channels of [N, C, ...]: one read, one write.

y[n, c, p] = x[n, c, p] / sqrt(mean_c x[n, c, p]^2 + eps), p running over the pixels.

A program holds all channels of a run of neighbouring pixels in registers, so the channel axis
(elements H * W apart in memory) is read with coalesced accesses and only once.

Bound by memory. Floor: 2 * numel * itemsize bytes (112 x 64 x 512 x 512: 15.03 GB at fp32,
7.52 GB at bf16).
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rms_norm_kernel(
    x_ptr, y_ptr, channels, pixels, eps, BLOCK_C: tl.constexpr, BLOCK_P: tl.constexpr
):
    blocks = tl.cdiv(pixels, BLOCK_P)
    sample = tl.program_id(0) // blocks
    pixel = (tl.program_id(0) % blocks) * BLOCK_P + tl.arange(0, BLOCK_P)
    channel = tl.arange(0, BLOCK_C)
    # int64: numel may exceed 2^31.
    base = sample.to(tl.int64) * channels * pixels
    offsets = base + channel.to(tl.int64)[:, None] * pixels + pixel[None, :]
    inside = (channel < channels)[:, None] & (pixel < pixels)[None, :]
    x = tl.load(x_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
    mean_square = tl.sum(x * x, axis=0) / channels
    y = x * (1.0 / tl.sqrt(mean_square + eps))[None, :]
    tl.store(y_ptr + offsets, y, mask=inside)


class ModelNew(nn.Module):
    """Divides by the root mean square over dim 1; no learnable scale."""

    def __init__(self, num_features: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: (N, C, ...), any float dtype -> the same shape and dtype."""
        x = x.contiguous()
        samples, channels = x.shape[:2]
        pixels = x[0, 0].numel()
        y = torch.empty_like(x)
        block_c = triton.next_power_of_2(channels)
        # 8,192 elements a program: 32 a thread.
        block_p = max(1, min(8192 // block_c, triton.next_power_of_2(pixels)))
        grid = (samples * triton.cdiv(pixels, block_p),)
        rms_norm_kernel[grid](
            x, y, channels, pixels, self.eps, BLOCK_C=block_c, BLOCK_P=block_p, num_warps=8
        )
        return y
