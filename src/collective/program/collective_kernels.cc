#include "collective/program/collective_kernels.h"

#include <algorithm>
#include <array>

#include "core/ignore_errors.h"
#include "kernels/images.h"
#include "kernels/reduce.h"

namespace polypath::collective {
namespace {

struct WhichMail {
  MailUse use;
  MailWay way;
  bool operator==(const WhichMail&) const = default;
};
constexpr std::array kWhichMail = {WhichMail{MailUse::reduce, MailWay::lines},
                                   WhichMail{MailUse::store, MailWay::lines},
                                   WhichMail{MailUse::reduce_and_share, MailWay::lines},
                                   WhichMail{MailUse::reduce, MailWay::parcels},
                                   WhichMail{MailUse::store, MailWay::parcels},
                                   WhichMail{MailUse::reduce_and_share, MailWay::parcels},
                                   WhichMail{MailUse::store_and_share, MailWay::parcels},
                                   WhichMail{MailUse::pass_on, MailWay::parcels}};

constexpr std::size_t kKernelsOfGpu = kWhichMail.size() + 1;  // the last one reduces

int number_of(PlaceId gpu, std::size_t which) {
  return static_cast<int>(kKernelsOfGpu * gpu.index() + which);
}

Kernel kernel_of(int number) {
  const std::size_t which = static_cast<std::size_t>(number) % kKernelsOfGpu;
  if (which == kWhichMail.size()) return reduce_kernel();
  return mail_kernel(kWhichMail[which].use, kWhichMail[which].way);
}

}  // namespace

int mail_kernel_number(PlaceId gpu, MailUse use, MailWay way) {
  const auto* const found = std::ranges::find(kWhichMail, WhichMail{use, way});
  return number_of(gpu, static_cast<std::size_t>(found - kWhichMail.begin()));
}

int reduce_kernel_number(PlaceId gpu) { return number_of(gpu, kWhichMail.size()); }

bool has_collective_kernels(const Driver& driver) {
  return driver.name() == "sim" || has_kernel_images();
}

CollectiveKernels::CollectiveKernels(Driver& driver, const Machine& machine)
    : driver_(driver), handles_(kKernelsOfGpu * machine.places.size()) {}

CollectiveKernels::~CollectiveKernels() {
  for (const KernelHandle kernel : handles_)
    if (kernel.value != 0) ignore_errors([&] { driver_.unload_kernel(kernel); });
}

void CollectiveKernels::prepare_mail(PlaceId gpu) {
  for (const auto& [use, way] : kWhichMail) {
    const int number = mail_kernel_number(gpu, use, way);
    KernelHandle& kernel = handles_[static_cast<std::size_t>(number)];
    if (kernel.value == 0) kernel = driver_.load_kernel(gpu, kernel_of(number));
  }
}

void CollectiveKernels::prepare(const Program& program) {
  for (const Node& node : program.nodes()) {
    if (node.operation != Operation::kernel) continue;
    const KernelCall& call = program.call_of(node);
    KernelHandle& kernel = handles_[static_cast<std::size_t>(call.kernel)];
    if (kernel.value == 0) kernel = driver_.load_kernel(call.gpu, kernel_of(call.kernel));
  }
}

}  // namespace polypath::collective
