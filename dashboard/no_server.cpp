// Stands for server.cpp where cpp-httplib is not installed.

#include "dashboard/server.h"

namespace detol::inline dashboard {

Result<std::unique_ptr<Server>> Server::listen(Panels&, ServedAt, std::string) {
  return fail(ErrorCode::kExport,
              "this detol was built without cpp-httplib, the HTTP server of the dashboard; install "
              "it (Debian: libcpp-httplib-dev) and build again");
}

}  // namespace detol::inline dashboard
