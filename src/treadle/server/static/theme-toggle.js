// The switch between light and dark at the end of the bar, for a panel without the sidebar.

import { themeButton } from "./theme-button.js";
import { query } from "./treadle.js";

query(document, ".bar").append(themeButton());
