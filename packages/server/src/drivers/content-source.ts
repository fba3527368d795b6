/** Where image content comes from. */
// biome-ignore lint/suspicious/noEmptyInterface: filled by the kinds that need it
export interface ContentSource {}
