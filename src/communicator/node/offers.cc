#include "communicator/node/offers_steps.h"

namespace polypath {

template class OffersOn<SharedWords>;

}  // namespace polypath
