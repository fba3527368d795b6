/** A serial port of a virtual machine. Source: catalogue vmm.json; behaviour vmm.md 1.5. */
import { resource } from '../../../operation.ts'
import * as s from '../../../schema.ts'

export const SerialPort = resource(
  'vmm.v4.ahv.config.SerialPort',
  {
    /** 1 is reserved. Default: the lowest free index. */
    index: s.optional(s.integer({ minimum: 0, maximum: 3 })),
    isConnected: s.optional(s.boolean()),
  },
  { rel: 'vmm:ahv:config:vm:serialport', notFound: 'VMM_ENTITY_NOT_FOUND', staleTag: 'VM_ETAG_MISMATCH' },
)
