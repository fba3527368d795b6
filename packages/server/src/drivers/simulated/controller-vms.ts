/** Simulated controller VMs: `hardware.controllerVms` by host. Without a fact it runs in its default size. */
import { isDeepStrictEqual } from 'node:util'
import { DriverError } from '../../core/tasks/define-task.ts'
import type { ControllerVm, ControllerVms } from '../controller-vms.ts'
import type { RequireAnswer } from './hardware-faults.ts'
import type { SimulatedWorld } from './world.ts'

const defaults: ControllerVm = { numVcpus: 8, memorySizeBytes: 32 * 1024 ** 3, isRunning: true }

export const controllerVmFacts = (world: SimulatedWorld) => world.collection<ControllerVm>('hardware.controllerVms')

export function createControllerVms(world: SimulatedWorld, requireAnswer: RequireAnswer): ControllerVms {
  const facts = controllerVmFacts(world)
  const controllerVm = (hostExtId: string): ControllerVm => facts.get(hostExtId) ?? defaults
  const change = (hostExtId: string, changes: Partial<ControllerVm>): Promise<void> => {
    const { numVcpus, memorySizeBytes, isRunning } = { ...controllerVm(hostExtId), ...changes }
    const next = { numVcpus, memorySizeBytes, isRunning }
    return isDeepStrictEqual(next, defaults) ? facts.remove(hostExtId) : facts.put(hostExtId, next)
  }
  const requireBoth = (clusterExtId: string, hostExtId: string, call: string): void => {
    for (const id of [clusterExtId, hostExtId]) requireAnswer(id, call)
  }
  return {
    controllerVm,
    async stopControllerVm(clusterExtId, hostExtId) {
      requireBoth(clusterExtId, hostExtId, 'stopControllerVm')
      await change(hostExtId, { isRunning: false })
    },
    async resizeControllerVm(clusterExtId, hostExtId, { numVcpus, memorySizeBytes }) {
      requireBoth(clusterExtId, hostExtId, 'resizeControllerVm')
      const present = controllerVm(hostExtId)
      // An undo that runs twice finds it running in its former size.
      if (present.numVcpus === numVcpus && present.memorySizeBytes === memorySizeBytes) return
      if (present.isRunning) throw DriverError.final('the controller VM is running')
      await change(hostExtId, { numVcpus, memorySizeBytes })
    },
    async startControllerVm(clusterExtId, hostExtId) {
      requireBoth(clusterExtId, hostExtId, 'startControllerVm')
      await change(hostExtId, { isRunning: true })
    },
  }
}
