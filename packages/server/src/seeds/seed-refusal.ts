import { StartRefusal } from '../core/start-refusal.ts'

export interface SeedFault {
  /** From 1; absent for a fault of the whole seed. */
  readonly line?: number
  readonly column?: number
  /** `vms[3].nics[0].subnet`; '' for the whole. */
  readonly path: string
  readonly message: string
}

export const maximumFaults = 100

export class SeedRefusal extends StartRefusal {
  readonly faults: readonly SeedFault[]

  constructor(name: string, faults: readonly SeedFault[], options?: ErrorOptions) {
    const reported = [...faults].sort(inOrder).slice(0, maximumFaults)
    super(`${name}: ${reported.map(textOf).join('; ')}`, options)
    this.faults = reported
  }
}

const inOrder = (a: SeedFault, b: SeedFault): number =>
  (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0)

/** `line 3, column 7, vms[0].name: expected …` */
export function textOf({ line, column, path, message }: SeedFault): string {
  const place = line === undefined ? [] : [`line ${line}, column ${column ?? 1}`]
  return [[...place, ...(path === '' ? [] : [path])].join(', '), message].filter((part) => part !== '').join(': ')
}
