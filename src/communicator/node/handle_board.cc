#include "communicator/node/handle_board_steps.h"

namespace polypath::communicator {

template class HandleBoardOn<SharedWords>;

}  // namespace polypath::communicator
