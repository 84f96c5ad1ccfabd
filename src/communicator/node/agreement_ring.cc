#include "communicator/node/agreement_ring_steps.h"

namespace polypath {

template class AgreementRingOn<SharedWords>;

}  // namespace polypath
