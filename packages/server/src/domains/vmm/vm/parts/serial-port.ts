/** Serial ports of a VM. Source: behaviour vmm.md 1.1 (cross-field), 1.5. */
import { SerialPort, serialPortOperations } from '@hyperplane/contract/vmm/vm/parts/serial-port'
import type { ApiError } from '../../../../core/api-error.ts'
import { implement } from '../../../context.ts'
import type { SerialPortEntity, VmBody, VmEntity } from '../../../virtual-machines/entity.ts'
import { fault } from '../../../virtual-machines/fault.ts'
import { changeOf, distinctAddresses, type PartKind, readsOf } from './part.ts'

type Port = Pick<SerialPortEntity, 'index' | 'isConnected'>

const indexes = [0, 2, 3]

const serialPorts: PartKind<'serialPorts'> = {
  resource: SerialPort,
  field: 'serialPorts',
  maximum: indexes.length,
  addresses: { path: 'index', of: (vm) => (vm.serialPorts ?? []).map(({ index }) => `index ${index}`) },
  coldFields: (before, after) => (before?.index === after?.index ? [] : ['index']),
}

/** Without an index, the port takes the lowest one that none of the others has. */
const placed = ({ index, isConnected = false }: Port, others: readonly Port[] = []): Port => ({
  index: index ?? indexes.find((free) => others.every((port) => port.index !== free)),
  isConnected,
})

export function serialPortsOf({ serialPorts: given = [] }: VmBody, newId: () => string): SerialPortEntity[] {
  const ports: SerialPortEntity[] = []
  for (const port of given) ports.push({ ...placed(port, [...given, ...ports]), extId: newId() })
  return ports
}

export function serialFaults({ serialPorts: ports = [] }: VmBody): ApiError[] {
  if (ports.length > indexes.length) return [fault('serialPorts', `at most ${indexes.length} ports`, ports.length)]
  return ports.flatMap(({ index }, at) => {
    const isDouble = index !== undefined && ports.findIndex((port) => port.index === index) < at
    return isDouble || !isUsable(index)
      ? [fault(`serialPorts[${at}]/index`, 'distinct indexes out of 0, 2, 3', index)]
      : []
  })
}

const isUsable = (index: number | undefined): boolean => index === undefined || indexes.includes(index)
const indexFaults = ({ body: { index } }: { readonly body: Port }): ApiError[] =>
  isUsable(index) ? [] : [fault('index', '0, 2 or 3', index)]

const reads = readsOf(SerialPort, 'serialPorts')
const next = async ({ body, rest }: { readonly body: Port; readonly rest: VmEntity }) => placed(body, rest.serialPorts)
const create = changeOf(serialPorts, 'Create', next)
const update = changeOf(serialPorts, 'Update', next)
const remove = changeOf(serialPorts, 'Delete', async () => undefined)

export const serialPort = implement(
  serialPortOperations,
  {
    listSerialPortsByVmId: reads.list,
    createSerialPort: create.handle,
    getSerialPortById: reads.get,
    updateSerialPortById: update.handle,
    deleteSerialPortById: remove.handle,
  },
  {
    rules: { createSerialPort: indexFaults, updateSerialPortById: indexFaults },
    tasks: [create.task, update.task, remove.task],
    invariants: [distinctAddresses(serialPorts)],
  },
)
