import * as s from '../../../schema.ts'

export const partOfVm = (listedIn: string) =>
  ({
    derived: true,
    internal: { vmExtId: s.uuid() },
    parent: { param: 'vmExtId', kind: 'Vm', field: 'vmExtId', listedIn },
    sharesTagOf: 'vmExtId',
  }) as const
