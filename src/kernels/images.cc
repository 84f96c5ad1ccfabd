#include "kernels/images.h"

#include <algorithm>

#include "core/error.h"
#include "kernels/image_table.h"

namespace polypath::kernels {

std::string_view kernel_image(std::string_view name) {
  const auto images = kernel_images();
  if (images.empty()) return {};
  const auto found = std::find_if(images.begin(), images.end(),
                                  [&](const KernelImage& image) { return image.name == name; });
  if (found == images.end())
    fail(ErrorCode::internal, "a kernel was not compiled", "the build knows no such file");
  return found->bytes;
}

bool has_kernel_images() { return !kernel_images().empty(); }

}  // namespace polypath::kernels
