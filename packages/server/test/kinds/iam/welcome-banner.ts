/** Requests by which suites that cover every kind reach the welcome banner. */
import { at } from '../../support/field-bases.ts'
import type { FieldBase } from '../kind.ts'

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'iam.updateWelcomeBanner': [at('/iam/v4.1.b2/authn/welcome-banner')],
}
