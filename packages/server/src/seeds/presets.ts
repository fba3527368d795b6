/** Accepted by `--seed`, and by `extends` in a seed file. */
export const presets = ['empty', 'tiny', 'demo', 'lab', 'large'] as const

export type SeedPreset = (typeof presets)[number]
