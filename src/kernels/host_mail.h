#pragma once
// What kernels that exchange messages do (mail.h), on the host: what a rank does before the ranks
// meet, and after that. In laps each has the number of the lap behind its values.

#include "kernels/mail.h"

namespace polypath {

HostKernel mail_before_exchange(MailUse use, MailWay way);
HostKernel mail_after_exchange(MailUse use, MailWay way);

}  // namespace polypath
