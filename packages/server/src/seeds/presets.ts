/** Worlds that come with the product: what `--seed` takes beside a file, and what a file may extend. */
export const presets = ['empty', 'tiny', 'demo', 'lab', 'large'] as const

export type SeedPreset = (typeof presets)[number]
