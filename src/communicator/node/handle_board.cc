#include "communicator/node/handle_board_steps.h"

namespace polypath {

template class HandleBoardOn<SharedWords>;

}  // namespace polypath
