/** The power states in which a VM accepts each operation. Source: behaviour vmm.md 1.1 (table). */
import { ApiError } from '../../../core/api-error.ts'
import type { VmEntity } from '../../virtual-machines/entity.ts'

type PowerState = NonNullable<VmEntity['powerState']>

const statesFor = {
  'customize-guest': ['OFF'],
  delete: ['OFF', 'ON', 'PAUSED'],
  migrate: ['OFF'],
  'migrate live': ['ON'],
  'migrate-to-host': ['ON'],
  'generate-console-token': ['ON'],
  'guest-reboot': ['ON'],
  'guest-shutdown': ['ON'],
  'install-guest-tools': ['ON'],
  'power-cycle': ['ON', 'PAUSED'],
  'power-off': ['ON', 'PAUSED'],
  'power-on': ['OFF', 'PAUSED'],
  reboot: ['ON'],
  reset: ['ON', 'PAUSED'],
  revert: ['OFF', 'ON', 'PAUSED'],
  shutdown: ['ON'],
  update: ['OFF', 'ON', 'PAUSED'],
} as const satisfies Readonly<Record<string, readonly PowerState[]>>

export type StateBound = keyof typeof statesFor

export function requireState(vm: Pick<VmEntity, 'name' | 'powerState'>, operation: StateBound): void {
  const state = vm.powerState ?? 'OFF'
  const states: readonly PowerState[] = statesFor[operation]
  if (states.includes(state)) return
  throw new ApiError('INVALID_POWER_STATE', { name: vm.name, state, operation, states: states.join(' or ') })
}
