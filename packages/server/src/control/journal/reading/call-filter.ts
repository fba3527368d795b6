import { Call, callFilter } from '@hyperplane/contract/control/call'
import { ApiError } from '../../../core/api-error.ts'
import { pathOf } from '../../../core/standard.ts'
import { checkFilter, compares, equals, ODataFault, parseFilter, type TypedFilter } from '../../../odata/index.ts'

/** @throws ApiError 400, with the position of the error in the filter */
export function readCallFilter(text: string): TypedFilter {
  try {
    return checkFilter(parseFilter(text), { fields: callFilter, schema: Call.schema })
  } catch (error) {
    if (!(error instanceof ODataFault)) throw error
    throw new ApiError(
      'INVALID_ODATA_EXPRESSION',
      { option: 'filter', position: error.position, fault: error.message },
      { extra: { found: error.found, expected: error.expected } },
    )
  }
}

export const isCall = (sequence: number): TypedFilter => equals(pathOf(Call, 'sequence'), sequence)

/** Calls received at or before this time. */
export const until = (time: string): TypedFilter => compares(pathOf(Call, 'time'), 'le', time)
