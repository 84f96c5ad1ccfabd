#pragma once
// The CUDA compiler's output for the kernels, compiled into the library.

#include <string_view>

namespace polypath::kernels {

/// The fatbin of NAME.cu; empty if there was no CUDA compiler when this was built. Error (internal)
/// if there is no such file.
std::string_view kernel_image(std::string_view name);

/// True if kernels can run on GPUs.
bool has_kernel_images();

}  // namespace polypath::kernels
