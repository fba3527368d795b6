/** A guest is a function of the world's time, so polling cannot miss an event. Source: behaviour vmm.md 3.3, 3.7. */
import { drawsFrom } from '../../core/ids/draws.ts'
import type { BootPhase } from '../hypervisor.ts'

export type GuestOs = 'linux' | 'windows' | 'installer'

export interface Boot {
  readonly seed: string
  readonly startedAt: number
  /** Undefined: nothing to boot. */
  readonly os: GuestOs | undefined
  readonly hasPendingCustomization: boolean
  readonly isInstant: boolean
}

const seconds: Readonly<Record<Exclude<BootPhase, 'running'>, (boot: Boot) => readonly [number, number]>> = {
  firmware: () => [1, 3],
  loader: () => [1, 3],
  kernel: ({ os }) => (os === 'windows' ? [15, 40] : os === 'installer' ? [8, 8] : [5, 15]),
  network: () => [1, 4],
  // Windows reboots once.
  customization: ({ hasPendingCustomization, os }) =>
    !hasPendingCustomization ? [0, 0] : os === 'windows' ? [22, 66] : [5, 20],
}
const toolsSeconds = [3, 10] as const
/** Per phase: a guest and its tools are up within a second. */
const instantSeconds = 0.1

export interface BootTimes {
  /** Infinity when the boot gets stuck. */
  readonly ends: Readonly<Record<Exclude<BootPhase, 'running'>, number>>
  readonly toolsAt: number
}

export function bootTimes(boot: Boot): BootTimes {
  const draw = drawsFrom(boot.seed)
  let at = boot.startedAt
  const after = ([least, most]: readonly [number, number]): number => {
    const drawn = least + (most - least) * draw()
    at += 1000 * (boot.isInstant ? Math.min(drawn, instantSeconds) : drawn)
    return at
  }
  const firmware = after(seconds.firmware(boot))
  const loader = boot.os === undefined ? Number.POSITIVE_INFINITY : after(seconds.loader(boot))
  at = loader
  const kernel = after(seconds.kernel(boot))
  const network = after(seconds.network(boot))
  const customization = after(seconds.customization(boot))
  return { ends: { firmware, loader, kernel, network, customization }, toolsAt: after(toolsSeconds) }
}

export function phaseAt({ ends }: BootTimes, now: number): BootPhase {
  if (now < ends.firmware) return 'firmware'
  if (now < ends.loader) return 'loader'
  if (now < ends.kernel) return 'kernel'
  if (now < ends.network) return 'network'
  return now < ends.customization ? 'customization' : 'running'
}
