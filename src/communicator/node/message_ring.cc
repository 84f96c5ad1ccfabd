#include "communicator/node/message_ring_steps.h"

namespace polypath::communicator {

template class MessageRingOn<SharedWords>;

}  // namespace polypath::communicator
