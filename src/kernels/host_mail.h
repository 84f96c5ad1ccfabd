#pragma once
// What kernels that exchange messages do (mail.h), on the host: what a rank does before the ranks
// meet, and after that. In laps each has the number of the lap behind its values.

#include <cstdint>
#include <span>

#include "kernels/mail.h"
#include "kernels/mailbox_layout.h"

namespace polypath::kernels {

HostKernel mail_before_exchange(MailUse use, MailWay way);
HostKernel mail_after_exchange(MailUse use, MailWay way);

/// What a kernel's values are; the addresses are 0.
MailParameters parameters_of(std::span<const std::uint64_t> values);

}  // namespace polypath::kernels
