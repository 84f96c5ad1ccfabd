#pragma once
// Written at build time: all images by the name of their source.

#include <span>
#include <string_view>

namespace polypath::kernels {

struct KernelImage {
  std::string_view name;
  std::string_view bytes;
};

/// Empty without a CUDA compiler.
std::span<const KernelImage> kernel_images();

}  // namespace polypath::kernels
