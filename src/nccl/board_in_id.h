#pragma once
// Where the ranks of a communicator announce themselves: a board of the process that makes its
// unique id, in whose last bytes its address is. NCCL leaves them empty, and all ranks get them.

#include <optional>
#include <string_view>

#include "communicator/bootstrap/presence_board.h"
#include "nccl/abi.h"

namespace polypath::nccl {

/// Writes the address of this process's board into an id that the real library has made. Makes the
/// board when it is first called. Does nothing where there is no room, and where the id is not this
/// process's alone (NCCL_COMM_ID).
void put_board(UniqueId& id) noexcept;
/// The board of an id; none if it names none.
std::optional<BoardAddress> board_in(std::string_view id);

}  // namespace polypath::nccl
