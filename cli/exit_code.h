#pragma once

#include "core/exit_code.h"  // also used below the command line
