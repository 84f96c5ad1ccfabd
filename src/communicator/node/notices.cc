#include "communicator/node/notices_steps.h"

namespace polypath {

template class NoticesOn<SharedWords>;

}  // namespace polypath
