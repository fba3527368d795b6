/**
 * The text shown before sign-in. There is exactly one.
 * Source: catalogue iam.json; behaviour iam.md 6, 10.
 */
import { get, perSecond, resource, update } from '../operation.ts'
import { boolean, readOnly, text, timestamp, withDefault } from '../schema.ts'

export const WelcomeBanner = resource(
  'iam.v4.authn.WelcomeBanner',
  {
    /** Plain text; markup is not interpreted. */
    content: withDefault(text({ maxLength: 5000, multiline: true }), ''),
    isEnabled: withDefault(boolean(), true),
    createdTime: readOnly(timestamp()),
    lastUpdatedTime: readOnly(timestamp()),
  },
  { title: 'welcome banner', bare: true, singleton: true, iam: { name: 'welcome_banner', attributes: {} } },
)

export const welcomeBannerOperations = {
  getWelcomeBanner: get('/authn/welcome-banner', WelcomeBanner, {
    iam: 'View_Welcome_Banner',
    roles: 'everyone',
    rateLimit: perSecond(10, 10, 15, 20),
  }),
  updateWelcomeBanner: update('/authn/welcome-banner', WelcomeBanner, {
    iam: 'Update_Welcome_Banner',
    roles: ['Platform Admin', 'Super Admin'],
    rateLimit: perSecond(1),
    runs: 'sync',
    ifMatch: 'required',
  }),
}
