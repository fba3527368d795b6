/** Fields that show the maintenance of a host. Source: behaviour clustermgmt.md 1.4 (table). */
import { Host } from '@hyperplane/contract/clustermgmt/host'
import type { Transaction } from '../../../store/store.ts'

const shown = {
  normal: { state: 'ACROPOLIS_NORMAL', isInMaintenanceMode: false },
  entering_maintenance: { state: 'ENTERING_MAINTENANCE_MODE', isInMaintenanceMode: false },
  in_maintenance: { state: 'ENTERED_MAINTENANCE_MODE', isInMaintenanceMode: true },
  exiting_maintenance: { state: 'ENTERED_MAINTENANCE_MODE', isInMaintenanceMode: true },
} as const

export async function setState(
  store: Transaction,
  hostExtId: string,
  maintenanceState: keyof typeof shown,
): Promise<void> {
  const host = await store.get(Host, hostExtId)
  if (host === undefined) return
  const { state, isInMaintenanceMode } = shown[maintenanceState]
  await store.update(Host, hostExtId, {
    maintenanceState,
    ...(host.hypervisor && { hypervisor: { ...host.hypervisor, state } }),
    ...(host.controllerVm && { controllerVm: { ...host.controllerVm, isInMaintenanceMode } }),
  })
}
