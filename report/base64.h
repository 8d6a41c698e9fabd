#pragma once

// Base64 (RFC 4648), as the URLs of pictures have it. Private to this room.

#include <string>
#include <string_view>

namespace detol::inline report {

std::string base64(std::string_view bytes);

}  // namespace detol::inline report
