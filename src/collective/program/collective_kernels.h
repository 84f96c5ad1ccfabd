#pragma once
// The kernels of collectives' programs: those that exchange messages (kernels/mail.h), and the one
// that reduces several operands at once (kernels/reduce.h). Programs name them by numbers, and the
// object that runs programs loads them.

#include <span>
#include <vector>

#include "driver/driver.h"
#include "kernels/mail.h"
#include "machine/machine.h"
#include "model/program.h"

namespace polypath::collective {

/// The number of a GPU's kernel, as in KernelCall::kernel.
int mail_kernel_number(PlaceId gpu, MailUse use, MailWay way);
int reduce_kernel_number(PlaceId gpu);

/// True if the driver can load them.
bool has_collective_kernels(const Driver& driver);

/// The kernels that are loaded. They are unloaded with it: nothing queued may use them then.
class CollectiveKernels {
 public:
  CollectiveKernels(Driver& driver, const Machine& machine);
  CollectiveKernels(const CollectiveKernels&) = delete;
  CollectiveKernels& operator=(const CollectiveKernels&) = delete;
  ~CollectiveKernels();

  /// Loads those of the program that are not there.
  void prepare(const Program& program);
  /// Loads all of a GPU that exchange messages.
  void prepare_mail(PlaceId gpu);
  /// By number.
  [[nodiscard]] std::span<const KernelHandle> handles() const { return handles_; }

 private:
  Driver& driver_;
  std::vector<KernelHandle> handles_;
};

}  // namespace polypath::collective
