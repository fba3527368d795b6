/** Handlers of VM operations: one file per group of actions. Source: behaviour vmm.md 1.1. */
import { Vm, vmOperations } from '@hyperplane/contract/vmm/vm/vm'
import { implement } from '../../context.ts'
import { DeviceClaim } from '../../scheduling/device-claim.ts'
import { HostAllocation } from '../../scheduling/host-allocation.ts'
import { MacLease } from '../../virtual-machines/mac-lease.ts'
import { PowerEvent } from '../../virtual-machines/power-journal.ts'
import { vmRules } from '../invariants.ts'
import { categoryFaults, ownerFaults } from '../ownership.ts'
import { balanceHosts } from './balancing/balancer.ts'
import { cloneFaults, cloneVm, makeClone } from './clone.ts'
import { ConsoleToken, generateConsoleToken, issueConsoleToken } from './console-token.ts'
import { makeVm } from './create/create.ts'
import { copyVm, createVm, newVmFaults } from './create/from-source.ts'
import { maximumVms } from './create/plan.ts'
import { LeftCopy, removeLeftCopies } from './cross-cluster/left-copies.ts'
import { crossClusterFaults, migrateAcross, migrateToCluster } from './cross-cluster/migrate.ts'
import { deleteVm, removeVm } from './delete.ts'
import { evacuationTasks } from './evacuation.ts'
import { ejectIsos } from './guest/customization.ts'
import { customize, customizeGuest, paramsFaults } from './guest/customize.ts'
import { restartVmsOfLostHosts } from './high-availability/lost-hosts.ts'
import { restartVm } from './high-availability/restart-elsewhere.ts'
import { startHeldVm } from './high-availability/start-held.ts'
import { holdDependentVms } from './high-availability/waiting-vms.ts'
import { migrateToHost, migrateVmToHost, targetHostFaults } from './migrate-to-host.ts'
import { observeDomains } from './observe.ts'
import { ownership } from './owner.ts'
import { attributesOfVm } from './parts/custom-attributes.ts'
import { migrateDisks, migrateTask, migrationFaults } from './parts/disk-migration.ts'
import { maximumNics } from './parts/nics.ts'
import { placementRules } from './placement-invariants.ts'
import { guestPowerTasks, reboot, rebootGuest, shutdown, shutdownGuest } from './power/guest-power.ts'
import { powerCycle, powerOff, powerOn, powerTasks, reset } from './power/power.ts'
import { presentVms } from './present.ts'
import { revert, revertVm } from './recovery-points/revert.ts'
import { resumeWriters } from './room.ts'
import { changeFaults } from './rules.ts'
import { changeVm, updateVm } from './update.ts'

export const vm = implement(
  vmOperations,
  {
    createVm: (ctx, request) => createVm(ctx, request),
    updateVmById: (ctx, { body }) => updateVm(ctx, body),
    deleteVmById: (ctx) => deleteVm(ctx),
    cloneVm: (ctx, { body }) => cloneVm(ctx, body),
    ...ownership.handlers,
    customizeGuestVm: (ctx, { body }) => customizeGuest(ctx, body),
    generateConsoleTokenById: (ctx) => generateConsoleToken(ctx),
    crossClusterMigrateVm: (ctx, { body }) => migrateAcross(ctx, body),
    migrateVmToHost: (ctx, { body }) => migrateVmToHost(ctx, body),
    revertVm: (ctx, { body }) => revertVm(ctx, body),
    powerOnVm: (ctx) => powerOn(ctx),
    powerOffVm: (ctx) => powerOff(ctx),
    resetVm: (ctx) => reset(ctx),
    shutdownVm: (ctx) => shutdown(ctx),
    addVmCustomAttributes: attributesOfVm.add,
    removeVmCustomAttributes: attributesOfVm.remove,
    migrateVmDisks: (ctx, { body }) => migrateDisks(ctx, body),
    rebootVm: (ctx) => reboot(ctx),
    powerCycleVm: (ctx) => powerCycle(ctx),
    shutdownGuestVm: (ctx, { body }) => shutdownGuest(ctx, body),
    rebootGuestVm: (ctx, { body }) => rebootGuest(ctx, body),
  },
  {
    rules: {
      createVm: (request) => newVmFaults(request),
      assignVmOwner: ({ body }) => ownerFaults(body),
      associateCategories: ({ body }) => categoryFaults(body),
      disassociateCategories: ({ body }) => categoryFaults(body),
      customizeGuestVm: ({ body }) => paramsFaults(body),
      crossClusterMigrateVm: ({ body }) => crossClusterFaults(body),
      migrateVmToHost: ({ body }) => targetHostFaults(body),
      cloneVm: ({ body }) => cloneFaults(body),
      updateVmById: ({ body }) => changeFaults(body),
      addVmCustomAttributes: attributesOfVm.faults,
      removeVmCustomAttributes: attributesOfVm.faults,
      migrateVmDisks: migrationFaults,
    },
    tasks: [
      makeVm,
      copyVm,
      revert,
      makeClone,
      customize,
      issueConsoleToken,
      migrateToCluster,
      migrateToHost,
      ...ownership.tasks,
      changeVm,
      removeVm,
      restartVm,
      startHeldVm,
      ...evacuationTasks,
      migrateTask,
      ...attributesOfVm.tasks,
      ...powerTasks,
      ...guestPowerTasks,
    ],
    present: [[Vm, presentVms]],
    limits: [maximumNics, maximumVms],
    invariants: [...vmRules, ...placementRules],
    records: [ConsoleToken, DeviceClaim, HostAllocation, LeftCopy, MacLease, PowerEvent],
    schedules: [
      balanceHosts,
      ejectIsos,
      holdDependentVms,
      observeDomains,
      removeLeftCopies,
      restartVmsOfLostHosts,
      resumeWriters,
    ],
  },
)
