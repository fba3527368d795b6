import { DriverError } from '../../core/tasks/define-task.ts'
import type { ExternalMoves } from '../external-moves.ts'
import { type OutsideVmFact, runOf } from './external-facts.ts'
import { isDown } from './hardware-faults.ts'
import { isVcenterLogin, vcenterFacts } from './management-extensions.ts'
import type { Collection, SimulatedWorld } from './world.ts'

interface Moving {
  readonly vms: Collection<OutsideVmFact>
  readonly isConnected: (clusterExtId: string) => boolean
  readonly reached: (vmExtId: string) => Promise<OutsideVmFact>
  readonly pass: (seconds: number) => Promise<void>
}

const bytesPerSecond = 1.2 * 1024 ** 3

export function createExternalMoves(world: SimulatedWorld, { vms, isConnected, reached, pass }: Moving): ExternalMoves {
  return {
    async signIn(clusterExtId, { address, ...login }) {
      const isKnown = world.collection('extern.clusters').get(clusterExtId) !== undefined
      if (!isKnown || !isConnected(clusterExtId)) return 'silent'
      const vcenter = vcenterFacts(world).get(clusterExtId)
      if (vcenter === undefined) return 'accepted'
      if (vcenter.address !== address || vcenter.port !== login.port) return 'silent'
      return isVcenterLogin(clusterExtId, vcenter, login) ? 'accepted' : 'refused'
    },
    async moveVm(vmExtId, hostExtId) {
      const { vm } = await reached(vmExtId)
      if (vm.host?.extId === hostExtId) return
      await pass(2 + (vm.memorySizeBytes ?? 0) / bytesPerSecond)
      const fact = await reached(vmExtId)
      if (isDown(world, hostExtId)) throw DriverError.final('the host does not answer')
      const { now, past } = fact
      const at = world.clock.now()
      await vms.put(vmExtId, {
        ...fact,
        vm: { ...fact.vm, host: { extId: hostExtId } },
        ...(now && { past: [...past, runOf(fact, now, at)], now: { from: at, startedAt: now.startedAt } }),
      })
    },
  }
}
