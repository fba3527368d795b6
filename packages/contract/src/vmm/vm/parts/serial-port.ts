/** Source: catalogue vmm.json; behaviour vmm.md 1.5, 2, operation-roles.tsv. */
import { create, get, list, remove, resource, update } from '../../../operation.ts'
import * as s from '../../../schema.ts'
import { vmMutationRate, vmReaders, vmWriters } from '../../roles.ts'

export const SerialPort = resource('vmm.v4.ahv.config.SerialPort', {
  fields: {
    /** 1 is reserved. Default: the lowest free index. */
    index: s.optional(s.integer({ minimum: 0, maximum: 3 })),
    isConnected: s.withDefault(s.boolean(), false),
  },
  iamNoun: 'Virtual_Machine_Serial_Port',
  derived: true,
  internal: { vmExtId: s.uuid() },
  parent: { param: 'vmExtId', kind: 'Vm', field: 'vmExtId', listedIn: 'serialPorts' },
  rel: 'vmm:ahv:config:vm:serialport',
  sharesTagOf: 'vmExtId',
})

const view = { roles: vmReaders } as const
const change = { roles: vmWriters, rateLimit: vmMutationRate, ifMatch: 'required', requestId: 'required' } as const

export const serialPortOperations = {
  listSerialPortsByVmId: list('/ahv/config/vms/{vmExtId}/serial-ports', SerialPort, view),
  createSerialPort: create('/ahv/config/vms/{vmExtId}/serial-ports', SerialPort, change),
  getSerialPortById: get('/ahv/config/vms/{vmExtId}/serial-ports/{extId}', SerialPort, view),
  updateSerialPortById: update('/ahv/config/vms/{vmExtId}/serial-ports/{extId}', SerialPort, change),
  deleteSerialPortById: remove('/ahv/config/vms/{vmExtId}/serial-ports/{extId}', SerialPort, change),
}
