/** Handlers of VM operations: one file per group of actions. Source: behaviour vmm.md 1.1. */
import { Vm, vmOperations } from '@hyperplane/contract/vmm/vm/vm'
import { implement } from '../../context.ts'
import { HostAllocation } from '../../scheduling/host-allocation.ts'
import { MacLease } from '../../virtual-machines/mac-lease.ts'
import { PowerEvent } from '../../virtual-machines/power-journal.ts'
import { vmRules } from '../invariants.ts'
import { createVm, makeVm } from './create/create.ts'
import { creationFaults, maximumVms } from './create/plan.ts'
import { deleteVm, removeVm } from './delete.ts'
import { ejectIsos } from './guest/customization.ts'
import { restartVmsOfLostHosts } from './high-availability/lost-hosts.ts'
import { restartVm } from './high-availability/restart-elsewhere.ts'
import { observeDomains } from './observe.ts'
import { attributesOfVm } from './parts/custom-attributes.ts'
import { migrateDisks, migrateTask, migrationFaults } from './parts/disk-migration.ts'
import { maximumNics } from './parts/nics.ts'
import { powerOff, powerOn, powerTasks, reset, shutdown } from './power/power.ts'
import { presentVms } from './present.ts'
import { resumeWriters } from './room.ts'
import { changeFaults } from './rules.ts'
import { changeVm, updateVm } from './update.ts'

export const vm = implement(
  vmOperations,
  {
    createVm: (ctx, { body }) => createVm(ctx, body),
    updateVmById: (ctx, { body }) => updateVm(ctx, body),
    deleteVmById: (ctx) => deleteVm(ctx),
    powerOnVm: (ctx) => powerOn(ctx),
    powerOffVm: (ctx) => powerOff(ctx),
    resetVm: (ctx) => reset(ctx),
    shutdownVm: (ctx) => shutdown(ctx),
    addVmCustomAttributes: attributesOfVm.add,
    removeVmCustomAttributes: attributesOfVm.remove,
    migrateVmDisks: (ctx, { body }) => migrateDisks(ctx, body),
  },
  {
    rules: {
      createVm: ({ body }) => creationFaults(body),
      updateVmById: ({ body }) => changeFaults(body),
      addVmCustomAttributes: attributesOfVm.faults,
      removeVmCustomAttributes: attributesOfVm.faults,
      migrateVmDisks: migrationFaults,
    },
    tasks: [makeVm, changeVm, removeVm, restartVm, migrateTask, ...attributesOfVm.tasks, ...powerTasks],
    present: [[Vm, presentVms]],
    limits: [maximumNics, maximumVms],
    invariants: vmRules,
    records: [HostAllocation, MacLease, PowerEvent],
    schedules: [ejectIsos, observeDomains, restartVmsOfLostHosts, resumeWriters],
  },
)
