#pragma once

// The table of facts and its views.

#include "knowledge/storage/sqlite.h"

namespace detol::inline knowledge {

// Creates the table. REQUIRES: there is none.
Result<void> define_facts(sqlite3* database);

// Creates the views of facts alone. REQUIRES: there are none, and the tables are there.
Result<void> define_fact_views(sqlite3* database);

}  // namespace detol::inline knowledge
