#include "driver/descriptor.hpp"
