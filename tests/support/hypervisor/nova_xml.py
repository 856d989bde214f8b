# SPDX-License-Identifier: Apache-2.0
"""Domain XML as Nova writes it, with the parts that tests vary."""

from xml.sax.saxutils import escape, quoteattr

NAMESPACE = 'http://openstack.org/xmlns/libvirt/nova/1.1'


def metadata(
    *,
    project: str | None = 'b' * 32,
    user: str = 'c' * 32,
    flavor: str = 'm1.small',
    extra_specs: dict[str, str] | None = None,
    namespace: str = NAMESPACE,
) -> str:
    owner = ''
    if project is not None:
        owner = (
            f'<nova:owner><nova:user uuid={quoteattr(user)}>dora</nova:user>'
            f'<nova:project uuid={quoteattr(project)}>d</nova:project></nova:owner>'
        )
    specs = ''.join(
        f'<nova:extraSpec name={quoteattr(key)}>{escape(value)}</nova:extraSpec>'
        for key, value in (extra_specs or {}).items()
    )
    return (
        f'<nova:instance xmlns:nova="{namespace}"><nova:package version="34.0.0"/>'
        f'<nova:name>server</nova:name><nova:flavor name={quoteattr(flavor)}>'
        f'<nova:memory>128</nova:memory><nova:vcpus>2</nova:vcpus>'
        f'<nova:extraSpecs>{specs}</nova:extraSpecs></nova:flavor>{owner}</nova:instance>'
    )


def domain(
    *,
    about: str | None = None,
    head: str = '',
    vcpus: str = '<vcpu placement="static">2</vcpu>',
    memory: str = '<memory unit="KiB">131072</memory>',
    devices: str = '',
    more: str = '',
) -> str:
    about = metadata() if about is None else about
    return (
        f'{head}<domain type="kvm" id="3"><name>instance-00000001</name>'
        f'<metadata>{about}</metadata>{memory}{vcpus}{more}<devices>{devices}</devices></domain>'
    )
