import type { ExternalMoves } from '../external-moves.ts'
import { secretDigest } from '../hardware.ts'
import { final, type OutsideVmFact, runOf } from './external-facts.ts'
import type { HardwareFault } from './hardware.ts'
import type { Collection, SimulatedWorld } from './world.ts'

/** Of `extern.clusters`. Without `access` every credential is accepted. */
export interface ManagementFact {
  readonly access?: { readonly address: string; readonly username: string; readonly passwordDigest: string }
}

interface Moving {
  readonly vms: Collection<OutsideVmFact>
  readonly isConnected: (clusterExtId: string) => boolean
  readonly reached: (vmExtId: string) => Promise<OutsideVmFact>
  readonly pass: (seconds: number) => Promise<void>
}

const bytesPerSecond = 1.2 * 1024 ** 3

export const managementDigest = (clusterExtId: string, password: string): string =>
  secretDigest(`management/${clusterExtId}`, password)

export function createExternalMoves(world: SimulatedWorld, { vms, isConnected, reached, pass }: Moving): ExternalMoves {
  return {
    async signIn(clusterExtId, { address, username, password }) {
      const fact = world.collection<ManagementFact>('extern.clusters').get(clusterExtId)
      if (fact === undefined || !isConnected(clusterExtId)) return 'silent'
      const { access } = fact
      if (access === undefined) return 'accepted'
      if (access.address !== address) return 'silent'
      const fits = access.username === username && access.passwordDigest === managementDigest(clusterExtId, password)
      return fits ? 'accepted' : 'refused'
    },
    async moveVm(vmExtId, hostExtId) {
      const { vm } = await reached(vmExtId)
      if (vm.host?.extId === hostExtId) return
      await pass(2 + (vm.memorySizeBytes ?? 0) / bytesPerSecond)
      const fact = await reached(vmExtId)
      if (world.collection<HardwareFault>('hardware.faults').get(hostExtId)?.isDown === true)
        throw final('the host does not answer')
      const { now, past } = fact
      const at = world.clock.now()
      await vms.put(vmExtId, {
        ...fact,
        vm: { ...fact.vm, host: { extId: hostExtId } },
        ...(now === undefined
          ? {}
          : { past: [...past, runOf(fact, now, at)], now: { from: at, startedAt: now.startedAt } }),
      })
    },
  }
}
