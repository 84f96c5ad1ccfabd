#include "communicator/node/message_ring_steps.h"

namespace polypath {

template class MessageRingOn<SharedWords>;

}  // namespace polypath
