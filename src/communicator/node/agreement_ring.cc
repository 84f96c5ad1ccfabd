#include "communicator/node/agreement_ring_steps.h"

namespace polypath::communicator {

template class AgreementRingOn<SharedWords>;

}  // namespace polypath::communicator
