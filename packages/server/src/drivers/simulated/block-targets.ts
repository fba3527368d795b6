/** Targets of simulated block storage, and who may use them. Source: behaviour volumes-storage.md 1.4 to 1.6, 3. */
import { defined } from '../../core/defined.ts'
import type { BlockStorage } from '../block-storage.ts'
import { secretDigest } from '../hardware.ts'
import { type TargetFact, targetFacts, targetFor } from './block-facts.ts'
import { clientScope, sessionsOf, targetScope } from './block-sessions.ts'
import { answering } from './hardware-faults.ts'
import { domainFacts } from './hypervisor/facts.ts'
import type { SimulatedWorld } from './world.ts'

export type TargetCalls = Pick<
  BlockStorage,
  'allow' | 'deny' | 'plug' | 'putTarget' | 'removeTarget' | 'sessionsOf' | 'unplug'
>

const patienceSeconds = 60

export function createTargets(world: SimulatedWorld, isNatural: boolean): TargetCalls {
  const targets = targetFacts(world)
  const requireAnswer = answering(world)
  const now = (): number => world.clock.now()
  return {
    async putTarget({ chapSecret, ...target }) {
      requireAnswer(target.clusterExtId, 'putTarget')
      const { chapDigest: former, ...kept } = targets.get(target.volumeGroupExtId) ?? { accessList: {}, plugs: {} }
      const chapDigest =
        chapSecret === undefined ? undefined : secretDigest(targetScope(target.volumeGroupExtId), chapSecret)
      const isSame = former === chapDigest
      const accessList = isSame ? kept.accessList : loginAgain(kept.accessList, now())
      const proof = chapDigest === undefined ? {} : { chapDigest }
      await targets.put(target.volumeGroupExtId, { ...kept, ...target, ...proof, accessList })
    },
    async removeTarget(volumeGroupExtId) {
      requireAnswer(targets.get(volumeGroupExtId)?.clusterExtId, 'removeTarget')
      await targets.remove(volumeGroupExtId)
    },

    async allow(volumeGroupExtId, { chapSecret, ...initiator }) {
      const target = targetFor(world, volumeGroupExtId, 'allow')
      const { clientExtId } = initiator
      const before = target.accessList[clientExtId]
      const proof = chapSecret === undefined ? {} : { chapDigest: secretDigest(clientScope(clientExtId), chapSecret) }
      const isSame = before !== undefined && before.chapDigest === proof.chapDigest
      const login = defined({ loginFrom: isSame ? before.loginFrom : now() })
      const accessList = { ...target.accessList, [clientExtId]: { ...initiator, ...proof, ...login } }
      await targets.put(volumeGroupExtId, { ...target, accessList })
    },
    async deny(volumeGroupExtId, clientExtId) {
      const target = targets.get(volumeGroupExtId)
      if (target?.accessList[clientExtId] === undefined) return
      requireAnswer(target.clusterExtId, 'deny')
      const { [clientExtId]: _, ...accessList } = target.accessList
      await targets.put(volumeGroupExtId, { ...target, accessList })
    },
    sessionsOf(volumeGroupExtId) {
      const target = targets.get(volumeGroupExtId)
      return target === undefined ? [] : sessionsOf(world, target).filter(({ since }) => since <= now())
    },

    async plug(volumeGroupExtId, vmExtId, scsiIndex) {
      const target = targetFor(world, volumeGroupExtId, 'plug')
      const plugTimes =
        target.plugs[vmExtId] === undefined ? { ...target.plugTimes, [vmExtId]: now() } : target.plugTimes
      const plugs = { ...target.plugs, [vmExtId]: scsiIndex }
      await targets.put(volumeGroupExtId, { ...target, plugs, ...(plugTimes && { plugTimes }) })
    },
    async unplug(volumeGroupExtId, vmExtId) {
      const domain = domainFacts(world).get(vmExtId)
      const isForced = domain?.state === 'ON' && domain.hungSince !== undefined
      const target = targets.get(volumeGroupExtId)
      if (target?.plugs[vmExtId] === undefined) return { isForced }
      requireAnswer(target.clusterExtId, 'unplug')
      if (isForced && isNatural) await world.clock.sleep(1000 * patienceSeconds)
      const present = targets.get(volumeGroupExtId)
      if (present === undefined) return { isForced }
      const {
        plugs: { [vmExtId]: _, ...plugs },
        plugTimes: { [vmExtId]: __, ...plugTimes } = {},
        ...rest
      } = present
      const isPlugged = Object.keys(plugTimes).length > 0
      await targets.put(volumeGroupExtId, { ...rest, plugs, ...(isPlugged && { plugTimes }) })
      return { isForced }
    },
  }
}

const loginAgain = (accessList: TargetFact['accessList'], loginFrom: number): TargetFact['accessList'] =>
  Object.fromEntries(Object.entries(accessList).map(([extId, entry]) => [extId, { ...entry, loginFrom }]))
